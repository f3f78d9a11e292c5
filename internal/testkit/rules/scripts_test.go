package rules

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// maxScript is how many lines of a script may stand in Go; a longer one is a file, which shellcheck reads.
const maxScript = 10

func TestLongScriptsAreFiles(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, line := range longScripts(text) {
			t.Errorf("%s:%d: a script of more than %d lines; make it a file, embed it", path, line, maxScript)
		}
	})
}

func TestALongScriptIsSeen(t *testing.T) {
	script := func(lines int) string {
		return "package a\n\nconst s = `\nif x; then\n" + strings.Repeat("  y\n", lines-2) + "fi\n`\n"
	}
	unit := "package a\n\nconst u = `[Unit]\n" + strings.Repeat("Description=what is done then\n", 20) + "`\n"
	for text, want := range map[string]string{script(10): "[]", script(11): "[3]", unit: "[]"} {
		if got := fmt.Sprint(longScripts([]byte(text))); got != want {
			t.Errorf("%s, want %s:\n%s", got, want, text)
		}
	}
}

// longScripts are the lines on which raw strings begin that are long scripts.
func longScripts(text []byte) []int {
	shell := regexp.MustCompile(`(?m)(^|; )(then|do|fi|done|esac|elif .*)$|^\w+\(\) \{$`)
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	var out []int
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		body := strings.Trim(lit, "`\n")
		if tok == token.STRING && lit[0] == '`' && strings.Count(body, "\n")+1 > maxScript && shell.MatchString(body) {
			out = append(out, file.Line(pos))
		}
	}
}
