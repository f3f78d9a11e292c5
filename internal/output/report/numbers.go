package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Amount is a size with three digits or so, for what changes while it is read.
func Amount(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, i := float64(n)/unit, 0
	for f >= 999.5 && i < 4 {
		f /= unit
		i++
	}
	return digits(f) + " " + string("KMGTP"[i]) + "iB"
}

// digits are a number with three digits or so.
func digits(f float64) string {
	if f < 99.95 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// AmountOf is done of total in the unit of total: 12.3/45.6 MiB.
func AmountOf(done, total int64) string {
	whole := Amount(total)
	number, unit, _ := strings.Cut(whole, " ")
	if unit == "B" {
		return strconv.FormatInt(done, 10) + "/" + whole
	}
	f := float64(done) / math.Pow(1024, float64(1+strings.IndexByte("KMGTP", unit[0])))
	if !strings.Contains(number, ".") {
		return strconv.FormatFloat(f, 'f', 0, 64) + "/" + whole
	}
	return digits(f) + "/" + whole
}

// Lasted is how long something took: 0.4 s, 12.3 s, 2:05.
func Lasted(d time.Duration) string {
	if d < 59950*time.Millisecond {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Clock(d)
}

// Clock writes a time left as a watch does: 0:07, 12:34, 1:02:03.
func Clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	if s >= 100*3600 {
		return ">99 h"
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
