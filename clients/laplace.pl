#!/usr/bin/perl
# Protocol 1 of dpwitness in Perl 5 (with 64-bit integers): a sum with Laplace noise of scale 1.
#
#   dpwitness audit --command 'perl laplace.pl' --epsilon 1 --pair '[0]' '[0, 1]'
#
# Replace draw; the rest is the protocol (docs/protocol.md). JSON::PP comes with Perl.
use strict;
use warnings;
no warnings "portable";    # the constants of SplitMix64 have 64 bits
use JSON::PP;

my $json = JSON::PP->new->utf8;
my $state = 0;             # of SplitMix64; all randomness follows from the seed of the request
binmode STDIN;
binmode STDOUT;

# Products and sums modulo 2^64: `use integer` wraps round where Perl would turn to floats.
sub times64 { use integer; return $_[0] * $_[1]; }
sub plus64 { use integer; return $_[0] + $_[1]; }

sub uniform {    # SplitMix64 (Steele, Lea and Flood, 2014), in (0, 1)
    $state = plus64($state, 0x9E3779B97F4A7C15);
    my $z = times64($state ^ ($state >> 30), 0xBF58476D1CE4E5B9);
    $z = times64($z ^ ($z >> 27), 0x94D049BB133111EB);
    $z ^= $z >> 31;
    return (($z >> 11) + 0.5) / 2**53;
}

sub draw {
    my ($database) = @_;
    my $u = uniform();
    my $sum = 0;
    $sum += $_ for @$database;
    return $sum + ($u < 0.5 ? log(2 * $u) : -log(2 - 2 * $u));
}

sub answer {
    my ($asked) = @_;
    my $database = $asked->{database};
    die "the database is not a list of numbers\n"
        if ref $database ne "ARRAY" || grep { ref || !defined || !/^-?\d/ } @$database;
    $state = $asked->{seed};
    my @outputs = map { draw($database) } 1 .. $asked->{size};
    my $header = { id => $asked->{id}, dtype => "<f8", shape => [$asked->{size}] };
    return $json->encode($header) . "\n" . pack("d<*", @outputs);
}

while (my $line = <STDIN>) {
    my $asked = $json->decode($line);
    my $said;
    if (exists $asked->{dpwitness}) {
        $said = $json->encode({ dpwitness => 1, name => "laplace in Perl" }) . "\n";
    } elsif (!defined($said = eval { answer($asked) })) {
        chomp(my $why = $@);
        $said = $json->encode({ id => $asked->{id}, error => $why }) . "\n";
    }
    print STDOUT $said;
    STDOUT->flush();
}
