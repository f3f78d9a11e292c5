package report

import (
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// More says how many machines of a list are out of sight, above and below what is seen of it; "" when none is.
func More(p *i18n.Printer, above, below int) string {
	switch {
	case above > 0 && below > 0:
		return p.T("ui.more-machines", "above", strconv.Itoa(above), "below", strconv.Itoa(below))
	case above > 0:
		return p.T("ui.more-machines.above", "above", strconv.Itoa(above))
	case below > 0:
		return p.T("ui.more-machines.below", "below", strconv.Itoa(below))
	}
	return ""
}

// rangeLeast is how many names in a row are told as a range.
const rangeLeast = 4

// Ranges gives the names with those that are numbered in a row told together, worker-[2-9], as the wizard and the verbs
// read them.
func Ranges(names []string) []string {
	var out []string
	for i := 0; i < len(names); {
		stem, from, ok := numbered(names[i])
		n := 1
		for ok && i+n < len(names) && names[i+n] == stem+strconv.Itoa(from+n) {
			n++
		}
		if n >= rangeLeast {
			out = append(out, stem+"["+strconv.Itoa(from)+"-"+strconv.Itoa(from+n-1)+"]")
		} else {
			out = append(out, names[i:i+n]...)
		}
		i += n
	}
	return out
}

// numbered takes the number at the end of a name apart; false: there is none, or it is not written as numbers are
// counted.
func numbered(name string) (stem string, n int, ok bool) {
	stem = strings.TrimRight(name, "0123456789")
	digits := name[len(stem):]
	n, err := strconv.Atoi(digits)
	return stem, n, err == nil && strconv.Itoa(n) == digits
}
