package build

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

var errPage = errors.New("a web page")

// findSum finds the sha256 of a file in a checksum file, in any of the forms that projects publish: a sum alone; lines
// with a sum and a name, in either order, as sha256sum, shasum and certutil write them; the tagged lines of BSD and
// openssl; the table of PowerShell. The file may be in UTF-8 or UTF-16, with a byte order mark or without. Other
// kinds of sums in it are passed over. The error is errPage for a page of HTML, which a proxy may answer with.
func findSum(data []byte, file string) (string, error) {
	text := plainText(data)
	if isPage(text) {
		return "", errPage
	}
	if s := strings.ToLower(strings.TrimSpace(text)); onlySum.MatchString(s) {
		return s, nil
	}
	found := ""
	for line := range strings.Lines(text) {
		if !names(line, file) {
			continue
		}
		sums := sumPattern.FindAllString(line, -1)
		if tag := tagPattern.FindStringSubmatch(line); tag != nil && !sha256Tag.MatchString(tag[1]) {
			continue // another algorithm, whose sums may be as long
		}
		if len(sums) == 0 {
			continue
		}
		if s := strings.ToLower(sums[0]); len(sums) == 1 && (found == "" || found == s) {
			found = s
			continue
		}
		return "", errors.New("no single sha256 for " + file)
	}
	if found == "" {
		return "", errors.New("no sha256 for " + file)
	}
	return found, nil
}

var (
	onlySum    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	sumPattern = regexp.MustCompile(`\b[0-9A-Fa-f]{64}\b`)
	// "SHA256 (FILE) = SUM", "SHA2-256(FILE)= SUM", "SHA256  SUM  PATH"
	tagPattern = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9/-]*)\s*(?:\(.*\)\s*=|\s[0-9A-Fa-f]{64}\s)`)
	sha256Tag  = regexp.MustCompile(`(?i)^sha(2-|-)?256$`)
)

// names reports whether a line of a checksum file names the file.
func names(line, file string) bool {
	line = sumPattern.ReplaceAllString(line, " ")
	apart := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`()="'`, r)
	}
	for _, word := range strings.FieldsFunc(line, apart) {
		word = path.Base(strings.ReplaceAll(strings.TrimRight(strings.TrimLeft(word, "*"), ":,"), `\`, "/"))
		if word == file {
			return true
		}
	}
	return false
}

// plainText decodes UTF-16, which Windows writes, and removes a byte order mark.
func plainText(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order, data = binary.LittleEndian, data[2:]
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order, data = binary.BigEndian, data[2:]
	case len(data) > 1 && data[0] != 0 && data[1] == 0:
		order = binary.LittleEndian
	case len(data) > 1 && data[0] == 0 && data[1] != 0:
		order = binary.BigEndian
	default:
		return strings.TrimPrefix(string(data), "\ufeff")
	}
	var units []uint16
	for ; len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// isPage reports whether a text is HTML: the login page of a proxy, or what a web server answers for a file that it
// does not have.
func isPage(text string) bool {
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 1024)]))
	return strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html") ||
		strings.HasPrefix(head, "<") && strings.Contains(head, "<html")
}
