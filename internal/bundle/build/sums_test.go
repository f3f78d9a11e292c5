package build

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// The checksum files that projects publish, and what comes in their place.
func TestFindSum(t *testing.T) {
	a, b := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	upper := strings.ToUpper(a)
	wide := func(order binary.AppendByteOrder, mark bool, s string) string {
		var out []byte
		if mark {
			out = order.AppendUint16(out, 0xfeff)
		}
		for _, u := range utf16.Encode([]rune(s)) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
	for name, c := range map[string]struct{ text, want string }{
		"alone":                  {a + "\n", a},
		"alone, upper case":      {upper, a},
		"sha256sum":              {b + "  y.gz\n" + a + "  x.gz\n", a},
		"sha256sum, binary":      {a + " *x.gz\r\n", a},
		"sha256sum, escaped":     {"\\" + a + "  x.gz\n", a},
		"one blank":              {a + " x.gz\n", a},
		"a tab":                  {a + "\tx.gz\n", a},
		"a directory":            {a + "  ./dist/x.gz\n", a},
		"a directory of Windows": {upper + " *dist\\x.gz\n", a},
		"the name first":         {"x.gz " + a + "\ny.gz " + b + "\n", a},
		"the name with a colon":  {"x.gz: " + a + "\n", a},
		"BSD":                    {"SHA256 (y.gz) = " + b + "\nSHA256 (x.gz) = " + a + "\n", a},
		"BSD, several kinds": {"SHA3-256 (x.gz) = " + b + "\nSHA512 (x.gz) = " + b + b + "\nSHA256 (x.gz) = " + a +
			"\n", a},
		"BSD, another kind":      {"SHA3-256 (x.gz) = " + b + "\n", ""},
		"openssl 1":              {"SHA256(x.gz)= " + a + "\n", a},
		"openssl 3":              {"SHA2-256(x.gz)= " + a + "\n", a},
		"PowerShell":             {"Algorithm  Hash  Path\n---  ---  ---\nSHA256  " + upper + "  C:\\dist\\x.gz\n", a},
		"sha512sum":              {a + b + "  x.gz\n", ""},
		"a mark of UTF-8":        {"\ufeff" + a + "  x.gz\n", a},
		"a mark of UTF-8, alone": {"\ufeff" + a, a},
		"UTF-16, little":         {wide(binary.LittleEndian, true, a+"  x.gz\r\n"), a},
		"UTF-16, big":            {wide(binary.BigEndian, true, upper+" *x.gz\r\n"), a},
		"UTF-16 without a mark":  {wide(binary.LittleEndian, false, a), a},
		"line separators":        {"\u2028" + b + "  y.gz\n" + a + "  x.gz\u2028\n", a},
		"signed":                 {"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n" + a + "  x.gz\n", a},
		"twice the same":         {a + "  x.gz\n" + a + "  ./x.gz\n", a},
		"twice":                  {a + "  x.gz\n" + b + "  x.gz\n", ""},
		"two in a line":          {"x.gz " + a + " " + b + "\n", ""},
		"a longer name":          {a + "  x.gz.asc\n" + b + "  ax.gz\n", ""},
		"empty":                  {"", ""},
		"one byte":               {"\xff", ""},
		"a login page":           {"<!DOCTYPE html>\n<html><body>Log in</body></html>", "page"},
		"a page with a sum":      {"\ufeff\n<HTML><p>x.gz " + a, "page"},
		"a page of XML":          {"<?xml version=\"1.0\"?><html xmlns=\"x\">", "page"},
		"an error of a store":    {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", ""},
	} {
		got, err := findSum([]byte(c.text), "x.gz")
		if errors.Is(err, errPage) {
			got = "page"
		}
		if got != c.want || (err == nil) != (len(c.want) == 64) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
