package report

import (
	"strings"
	"testing"
)

func TestNamesInARowAreTold(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"a b":                     "a b",
		"n-1 n-2 n-3":             "n-1 n-2 n-3",
		"n-1 n-2 n-3 n-4":         "n-[1-4]",
		"n-1 n-2 n-4 n-5 n-6 n-7": "n-1 n-2 n-[4-7]",
		"n-07 n-08 n-09 n-10":     "n-07 n-08 n-09 n-10",
		"n-9 n-10 n-11 n-12 m-13": "n-[9-12] m-13",
		"7 8 9 10":                "[7-10]",
		"机房-1 机房-2 机房-3 机房-4 b c":   "机房-[1-4] b c",
		"n99999999999999999999 n-1": "n99999999999999999999 n-1",
	} {
		if got := strings.Join(Ranges(strings.Fields(in)), " "); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
