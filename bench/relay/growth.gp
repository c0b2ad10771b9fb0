# What operations of one relay cost, by the size of its database. The number behind a name is the exponent of the growth.
#
#   gnuplot -e "rows='growth-weir.csv'; output_file='growth-weir.svg'" bench/relay/growth.gp
load system("dirname '" . ARG0 . "'") . "/../storm/plots/style.gp"
set datafile separator ","
set datafile columnheaders
header = system("head -n 1 '" . rows . "' | tr ' ,' '~ '")
count = words(header)
exponents = system("tail -n 1 '" . rows . "' | tr ',' ' '")  # the last row; its first column is no number
begins(i, text) = word(header, i)[:strlen(text)] eq text
ends(i, text) = word(header, i)[strlen(word(header, i)) - strlen(text) + 1:] eq text
p50 = ":~EOSE~p50"
is_p50(i) = begins(i, begin) && ends(i, p50)
is_latency(i) = ends(i, "OK~p99") || ends(i, "delivery~p50") || ends(i, "first-touch:~start")
is_event(i) = ends(i, "~per~event") && !ends(i, "written~per~event")
is_size(i) = begins(i, "size:") || ends(i, "_bytes")
# A column that is not chosen gets no title, and so no line in the key.
titled(i, is_chosen, from, cut) = is_chosen ? system("echo '" . \
  word(header, i)[from:strlen(word(header, i)) - cut] . "' | tr '~' ' '") . "  " . word(exponents, i) : ""

states = ""
do for [state in "lived-in first-touch first-touch-cold larger-than-memory"] {
  begin = state . ":"
  if (sum [i = 2:count] is_p50(i)) { states = states . " " . state }
}
eval svg(1000, 280 * (words(states) + 3))
set output output_file
set key outside right center Left reverse samplen 2 spacing 1.2 noenhanced font ',13'
set multiplot layout words(states) + 3,1 margins 0.1, 0.57, 0.04, 0.98 spacing 0.04
set logscale xy
set xtics format ""
set style data linespoints
set for [i = 1:count] linetype i lw 1.5 pt 7 ps 0.5 dt 1 + i / 8 % 3
eval sprintf(latency_tics, "y")
do for [state in states] {
  begin = state . ":"
  set ylabel state . ", p50" noenhanced offset 1
  plot for [i = 2:count] rows using 1:(is_p50(i) ? column(i) : NaN) title titled(i, is_p50(i), strlen(begin) + 2, strlen(p50))
}
set ylabel "other latency" offset 1
plot for [i = 2:count] rows using 1:(is_latency(i) ? column(i) : NaN) title titled(i, is_latency(i), 1, 0)
set ytics autofreq
set ylabel "µs" offset 1
plot for [i = 2:count] rows using 1:(is_event(i) ? column(i) : NaN) title titled(i, is_event(i), 1, 0)
set ylabel "MB" offset 1
set xtics format "%.0s%c"
plot for [i = 2:count] rows using 1:(is_size(i) ? column(i) / (ends(i, "_bytes") ? 1e6 : 1) : NaN) \
  title titled(i, is_size(i), 1, 0)
unset multiplot
