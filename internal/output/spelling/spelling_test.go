package spelling

import (
	"strings"
	"testing"
)

func TestSuggestions(t *testing.T) {
	keys := []string{"masters", "nodes", "ip", "port", "timeout", "pacakges", "packages", "network", "NetworkYamlPath"}
	for word, want := range map[string]string{
		"master": "masters", "matsers": "masters", "TimeOut": "timeout", "networkYamlpath": "NetworkYamlPath",
		"prot": "port", "xy": "", "i": "ip", "completely-else": "", strings.Repeat("a", 100): "",
	} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
