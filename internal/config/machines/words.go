package machines

import (
	"slices"
	"strings"
)

// apart are the machines of a line as lines: its words, when all are addresses; its parts between commas, when each has
// an address and something else; else the line.
func apart(text string, pairs bool) []string {
	if list := addressesOf(text); len(list) > 2 || len(list) == 2 && !pairs {
		return list
	}
	parts := words(text, ",;")
	for _, part := range parts {
		list, n := words(part, separators), 0
		for _, w := range list {
			if isAddress(w) {
				n++
			}
		}
		if n != 1 || len(list) < 2 {
			return []string{text}
		}
	}
	if len(parts) < 2 {
		return []string{text}
	}
	return parts
}

// isAddress reports whether a word is an address, as it may be written in a line.
func isAddress(word string) bool {
	all, why := addresses([]string{targetOf(word).host})
	return all && why == nil && !strings.Contains(word, "=")
}

// columnsOfAddresses reports whether several lines have two addresses each, which may as well be two of one machine.
func columnsOfAddresses(text []string) bool {
	n := 0
	for _, raw := range text[:min(len(text), Most)] {
		if len(addressesOf(narrow(raw))) == 2 {
			n++
		}
	}
	return n > 1
}

// addressesOf are the words before a remark, if there are several and all are addresses; else nil.
func addressesOf(text string) []string {
	list := words(text, separators)
	if i := slices.IndexFunc(list, func(w string) bool { return strings.HasPrefix(w, "#") }); i >= 0 {
		list = list[:i]
	}
	if len(list) < 2 {
		return nil
	}
	for _, w := range list {
		hosts, why := expand(targetOf(w).host)
		if strings.Contains(w, "=") { // bastion=ops@192.168.0.9
			return nil
		}
		if all, _ := addresses(hosts); why != nil || !all {
			return nil
		}
	}
	return list
}

// isHeader reports whether a line names columns.
func isHeader(text string) bool {
	words, known := words(text, separators), 0
	for _, w := range words {
		if columnOf(w) != "" {
			known++
		}
	}
	if len(words) == 1 {
		return slices.Contains([]string{"host", "name"}, columnOf(words[0]))
	}
	at := slices.IndexFunc(words, func(w string) bool { return columnOf(w) == "host" })
	return len(words) > 0 && (known == len(words) || at >= 0 && known > 2 && 3*known >= 2*len(words) &&
		!slices.ContainsFunc(words, isAddress))
}

// separators stand between words; the last are those of a Chinese input method, of which one has two widths.
const separators = " \t,;|、､，；"

// words splits a line at separators; what stands between brackets or quotes stays together.
func words(text, separators string) (out []string) {
	var w strings.Builder
	depth, quote := 0, rune(0)
	for i, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
			continue
		case quote != 0:
		case (r == '"' || r == '\'') && strings.ContainsRune(text[i+1:], r):
			quote = r
			continue
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth <= 0 && strings.ContainsRune(separators, r):
			if w.Len() > 0 {
				out = append(out, w.String())
			}
			w.Reset()
			continue
		}
		w.WriteRune(r)
	}
	if w.Len() > 0 {
		out = append(out, w.String())
	}
	return out
}
