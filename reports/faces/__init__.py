"""What a result looks like: text for a terminal, a page of HTML, and the words of both."""
