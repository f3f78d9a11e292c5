package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The time of day is set while a run goes on: what is measured with it cut every connection once. In these packages a
// duration is the difference of two readings of time.Now, which measure it.
func TestDurationsAreMeasured(t *testing.T) {
	ofTheDay := regexp.MustCompile(`\.Unix(Nano|Milli|Micro)?\(|time\.Unix(Milli|Micro)?\(`)
	for _, pkg := range []string{"run/engine", "run/event", "remote", "run/state", "run/control", "output/report"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(pkg, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n, line := range strings.Split(string(text), "\n") {
				if ofTheDay.MatchString(line) {
					t.Errorf("%s:%d: %s", file, n+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
