package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// completeMost bounds the entries of a directory that are read.
const completeMost = 10000

// CompletePath completes a path as far as the existing files agree, and returns the files that begin with it, sorted. A
// directory that is the only one gets its slash. ~ is the home directory and stays as it was typed.
func (h *Host) CompletePath(text string) (string, []string) {
	typed, base := filepath.Split(text)
	dir := h.Path(typed)
	f, err := os.Open(dir)
	if err != nil {
		return text, nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(completeMost) // as many as could be read
	var names []string
	common := ""
	for _, x := range entries {
		name := x.Name()
		if !strings.HasPrefix(name, base) || base == "" && strings.HasPrefix(name, ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			name += "/"
		}
		if len(names) == 0 {
			common = name
		}
		names, common = append(names, name), shared(common, name)
	}
	if len(names) == 0 {
		return text, nil
	}
	slices.Sort(names)
	return typed + common, names
}

// shared returns the common beginning, in whole characters.
func shared(a, b string) string {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return string(x[:n])
}
