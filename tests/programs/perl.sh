# Strings, hashes, regular expressions, sorting, closures and forks in Perl.
perl -e '
use strict; use warnings;
my (%words, @lines); srand(42);
for my $i (0 .. 25000) {
  my $line = join " ", map { "w" . ($i * $_ % 7919) } 1 .. 8;
  push @lines, $line; $words{$_}++ for split / /, $line;
  $line =~ s/(w\d)(\d+)/$2$1/g; $lines[$i / 2] = $line if $i % 5 == 0;
}
my @top = (sort { $words{$b} <=> $words{$a} || $a cmp $b } keys %words)[0 .. 9];
print "$_ $words{$_}\n" for @top;
my $sum = 0; $sum += length for @lines; print "$sum\n";
my @makers = map { my $n = $_; sub { "x" x ($n % 5000) } } 1 .. 5000;
my $total = 0; $total += length $_->() for @makers; print "$total\n";
my %nested; push @{ $nested{$_ % 100}{$_ % 7} },
  { id => $_, text => "t" x ($_ % 90) } for 1 .. 50000;
delete $nested{$_} for grep { $_ % 2 } keys %nested; print scalar(keys %nested), "\n";
for my $i (1 .. 10) {
  my $pid = fork; if (!$pid) { my @x = map { "y" x $_ } 1 .. 500; exit(@x % 256 == 244 ? 7 : 1) }
  waitpid $pid, 0; print $? >> 8, " ";
}
print "\n";'
