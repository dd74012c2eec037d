# A workload for Perl: hashes of lists, strings cut up and joined, sorting. The argument is the
# number of rounds (default 6). Prints a checksum.
use strict;
use warnings;

my ($check, @kept) = (0);
for my $round (1 .. ($ARGV[0] // 6)) {
    my (%lines_of, @lines);
    for my $i (1 .. 25000 + 2000 * ($round % 4)) {
        my $line = join ' ', map { "word" . ($i * $_ % 5003) } 1 .. 1 + $i % 9;
        push @lines, $line;
        push @{ $lines_of{$_} }, $i for split / /, $line;
    }
    for my $word (sort { @{ $lines_of{$b} } <=> @{ $lines_of{$a} } || $a cmp $b } keys %lines_of) {
        (my $upper = $word) =~ s/word(\d+)/W[$1]/;
        $check += length($upper) * @{ $lines_of{$word} };
    }
    my @records = map { { text => $_, parts => [ split /[ d]/ ] } } @lines;
    $check += @{ $_->{parts} } for grep { $_->{text} =~ /7 .*3/ } @records;
    $kept[ $round % 2 ] = \@records;
}
print "check $check\n";
