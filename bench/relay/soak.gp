# The rows of relay_load soak over time: what clients felt, and what the server grew to.
#
#   gnuplot -e "rows='soak.csv'; output_file='soak.svg'" bench/relay/soak.gp
load system("dirname '" . ARG0 . "'") . "/../storm/plots/style.gp"
eval svg(1000, 900)
set output output_file
set datafile separator ","
set key autotitle columnhead outside right center Left reverse samplen 2 spacing 1.3
set multiplot layout 4,1 margins 0.1, 0.8, 0.07, 0.97 spacing 0.05
minutes = "($1 / 60)"
columns = 1 + system("head -n 1 '" . rows . "' | tr -cd , | wc -c")
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
  rows using @minutes:12 with lines lc rgb "#404040" lw 1.5 title "disk"

set ylabel "files" offset 1
plot rows using @minutes:13 with lines lc rgb "#404040" lw 1.5 title "in the database", \
  for [column = 14:columns] rows using @minutes:column with lines lw 1.5 noenhanced

set ylabel "cores" offset 1
set xtics format "%g min"
plot rows using @minutes:9 with lines lc rgb "#404040" lw 1.5 title "used by the server"
unset multiplot
