"""A theorem beside its measurement, as one record, and the sections they are told in."""
