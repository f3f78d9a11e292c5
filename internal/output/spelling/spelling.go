// Package spelling finds the word that was probably meant by one that is misspelt: a key, a flag, a command. It may
// import nothing of this module.
package spelling

import (
	"slices"
	"strings"
)

// maxDistance of a misspelt word from the one that was probably meant.
const maxDistance = 2

// Nearest returns the candidate nearest to word, or "" if none is near. Case does not count, so that TimeOut finds
// timeout.
func Nearest(word string, candidates []string) string {
	if len(word) > 64 { // nothing is called so, and the distance costs the product of the lengths
		return ""
	}
	best, found := maxDistance+1, ""
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		// A short word is near to everything: at most a third of it may be wrong.
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < best && d <= max(1, len(c)/3) {
			best, found = d, c
		}
	}
	return found
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours between a and b (optimal string
// alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(s)][len(t)]
}
