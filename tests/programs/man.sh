# man, whose filters and groff run in a seccomp sandbox that ends them for calls it does not know. A text of malloc
# is given to delete[] in groff.
{
  printf '.TH LARGE 1\n.SH NAME\nlarge \\- a page\n.SH TEXT\n'
  for i in $(seq 4000); do printf '.PP\n.B Paragraph\n%d of \\fIsome\\fP words that fill and break lines %d.\n' $i $((i * i)); done
  printf '.TS\nl l.\n'
  for i in $(seq 400); do printf 'cell\t%d\n' $i; done
  printf '.TE\n'
} | sed "1i '\\\\\" t" > large.1
export LOAM_OPTIONS=mismatch=ignore
gzip -k large.1
for encoding in ASCII UTF-8; do MANWIDTH=90 man -E $encoding -P cat -l large.1.gz | sha256sum; done
man -Tps -P cat -l large.1 | grep -c showpage
lexgrog large.1.gz
