# How many writes took longer than x: the further down a line ends on the left, the better.
load "style.gp"
eval svg(1000, 560)
set output output_file
set title "Interactive writes during the burst"
set xlabel "latency"
set ylabel "share of writes that took longer" offset 1
set logscale xy
eval sprintf(latency_tics, "x")
set ytics ("all" 1, "10 %%" 0.1, "1 %%  (p99)" 0.01, "0.1 %%  (p99.9)" 0.001, "0.01 %%" 0.0001, "0.001 %%" 0.00001)
set xrange [lowest_ms / 1.3:highest_ms * 1.3]
set yrange [lowest_share * 0.8:1]
set key outside right center Left reverse samplen 3 spacing 1.3
plot for [i = 1:|names|] $series index i - 1 using 1:2 with lines \
  lc rgb colours[i] lw widths[i] dt dashes[i] title names[i]
