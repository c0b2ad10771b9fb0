# The rows of relay_load soak over time: what clients felt, and what the server grew to.
#
#   gnuplot -e "rows='soak.csv'; output_file='soak.svg'" bench/relay/soak.gp
load system("dirname '" . ARG0 . "'") . "/../storm/plots/style.gp"
eval svg(1000, 900)
set output output_file
set datafile separator ","
set key outside right center Left reverse samplen 2 spacing 1.3 noenhanced
set multiplot layout 4,1 margins 0.1, 0.74, 0.07, 0.97 spacing 0.05
minutes = "($1 / 60)"
# The gauges of --gauge, those of bytes apart.
header = system("head -n 1 '" . rows . "' | tr -d '\"' | tr , ' '")
bytes = ""
others = ""
do for [column = 14:words(header)] {
  if (word(header, column)[strlen(word(header, column)) - 5:] eq "_bytes") { bytes = bytes . " " . column } \
  else { others = others . " " . column }
}
set xtics format ""

set logscale y
eval sprintf(latency_tics, "y")
set ylabel "latency" offset 1
plot rows using @minutes:3 with lines lc rgb "#0072b2" lw 1 title "REQ p50", \
  rows using @minutes:4 with lines lc rgb "#0072b2" lw 1.5 dt 2 title "REQ p99", \
  rows using @minutes:5 with lines lc rgb "#d55e00" lw 1 title "OK p50", \
  rows using @minutes:6 with lines lc rgb "#d55e00" lw 1.5 dt 2 title "OK p99", \
  rows using @minutes:8 with lines lc rgb "#009e73" lw 1.5 dt 2 title "delivery p99"
unset logscale y
set ytics autofreq

set ylabel "MB" offset 1
set yrange [0:*]
plot rows using @minutes:10 with lines lc rgb "#0072b2" lw 1.5 title "resident", \
  rows using @minutes:11 with lines lc rgb "#d55e00" lw 1.5 title "anonymous", \
  rows using @minutes:12 with lines lc rgb "#404040" lw 1.5 title "disk", \
  for [column in bytes] rows using @minutes:(column(int(column)) / 1e6) with lines lw 1.5 title word(header, int(column))

set ylabel "files" offset 1
plot rows using @minutes:13 with lines lc rgb "#404040" lw 1.5 title "in the database", \
  for [column in others] rows using @minutes:int(column) with lines lw 1.5 title word(header, int(column))

set ylabel "cores" offset 1
set xtics format "%g min"
plot rows using @minutes:9 with lines lc rgb "#404040" lw 1.5 title "used by the server"
unset multiplot
