# Computes a little and starts some programs, and prints the nanoseconds that it took: here and on a node, to compare them.
began=$(date +%s%N)
i=0
while [ $i -lt 20000 ]; do
	i=$((i + 1))
done
i=0
while [ $i -lt 20 ]; do
	/bin/true
	i=$((i + 1))
done
echo $(($(date +%s%N) - began))
