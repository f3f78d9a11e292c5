package machines

import "strings"

// mistyped is the role or the architecture that a word is nearly, "" if it is none: wroker, matser, amd46. A word
// with a number at its end is a name that people give: worker1, master-02.
func mistyped(word string) string {
	word = strings.ToLower(word)
	for _, arch := range []string{"amd64", "arm64", "x86_64", "aarch64"} {
		if nearly(word, arch, 1) {
			return arch
		}
	}
	if strings.TrimRight(word, "0123456789") != word {
		return ""
	}
	for _, known := range []string{"master", "worker", "control-plane", "etcd", "loadbalance", "loadbalancer"} {
		if nearly(word, known, 1+len(known)/10) {
			return known
		}
	}
	return ""
}

// nearly reports whether a word becomes another by at most so many letters that are other, missing, too many, or
// changed places.
func nearly(a, b string, most int) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y)+most || len(y) > len(x)+most {
		return false
	}
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)] <= most
}
