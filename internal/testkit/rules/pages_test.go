package rules

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	tables  = regexp.MustCompile(`(?s)<!-- keys: .*?<!-- end -->`) // made from the sentences, which have tests of their own
	struck  = regexp.MustCompile("~~[^~]*~~")                      // a word not to use
	to      = regexp.MustCompile(`\]\([^)]*\)`)                    // where a link leads
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	banned  = regexp.MustCompile(`(?i)\(s\)|\b(mend(s|ed|ing)?|anew|rehears\w+|go(es|ne|ing)? on|left out|let in|` +
		`stand(s|ing)? in the way|proven|judg(e|es|ed|ing)|verdicts?|who(m|se)?ever|as it should be|(cut|broken) off|` +
		`authorities|strangers?|unwell|sums|jump hosts?|take(s|n)? (away|back)|told|gravest|talkers?|pictures?|` +
		`rooms?|looked at|needs you|colou(r|rs|red|ring)|somebody|nobody)\b|` +
		`中断预算|法定多数|控制机|安装前检查|支持包|负载均衡器|控制节点|主节点|忘记|撤回|您|帐号|登陆|钩子([^脚]|$)|解开`)
)

// pages are the documents for operators and contributors, without the decisions.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"README.md", "README.zh.md", "CONTRIBUTING.md", "SECURITY.md"} {
		out = append(out, filepath.Join(root(), name))
	}
	for _, dir := range []string{"docs", "docs/development", "docs/zh"} {
		files, err := filepath.Glob(filepath.Join(root(), filepath.FromSlash(dir), "*.md"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d pages, %v", dir, len(files), err)
		}
		out = append(out, files...)
	}
	return out
}

// Who opens the README wants to know what this is and to try it; the rest has pages of its own.
func TestTheReadmeIsShort(t *testing.T) {
	for _, name := range []string{"README.md", "README.zh.md"} {
		text := read(t, filepath.Join(root(), name))
		if n := strings.Count(text, "\n"); n > 100 {
			t.Errorf("%s has %d lines, and at most 100 are read", name, n)
		}
		if !strings.Contains(text, "    make test ") {
			t.Errorf("%s does not say how the tests are run", name)
		}
	}
}

// Words that the documentation of Kubernetes does not have for these things, either.
func TestPagesUsePlainWords(t *testing.T) {
	for _, page := range pages(t) {
		text := tables.ReplaceAllString(fence.ReplaceAllString(read(t, page), ""), "")
		for line := range strings.SplitSeq(struck.ReplaceAllString(to.ReplaceAllString(text, "]"), ""), "\n") {
			for _, word := range banned.FindAllString(line, -1) {
				t.Errorf("%s says %q (%s…): CONTRIBUTING.md has the words to use", page, word, start(line))
			}
		}
	}
}

func start(line string) string { return string([]rune(line)[:min(60, len([]rune(line)))]) }

// anchor is the name by which a heading is linked to: letters and digits stay, blanks become hyphens.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// A page that the index does not list is not found by anybody.
func TestTheIndexListsEveryPage(t *testing.T) {
	for _, index := range []string{"docs", filepath.Join("docs", "zh")} {
		text := read(t, filepath.Join(root(), index, "README.md"))
		for _, dir := range []string{"", "development"} {
			files, err := filepath.Glob(filepath.Join(root(), index, dir, "*.md"))
			if err != nil || dir == "" && len(files) < 4 {
				t.Fatalf("%s: %d pages, %v", index, len(files), err)
			}
			for _, file := range files {
				page := filepath.ToSlash(filepath.Join(dir, filepath.Base(file)))
				if page != "README.md" && !strings.Contains(text, "]("+page+")") {
					t.Errorf("%s/README.md does not list %s", index, page)
				}
			}
		}
	}
}

// What links to a heading finds it.
func TestAnchorsAreHeadings(t *testing.T) {
	at := regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
	found := 0
	for _, page := range pages(t) {
		for _, m := range at.FindAllStringSubmatch(read(t, page), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			found++
			has := false
			for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(read(t, target), ""), -1) {
				has = has || anchor(h[1]) == m[2]
			}
			if !has {
				t.Errorf("%s links to %s#%s, and there is no such heading", page, target, m[2])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d links to headings: the search is broken", found)
	}
}

// A Chinese page that lacks a section of the English one would say less than it seems to.
func TestChinesePagesHaveEverySection(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(), "docs", "zh", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]string{filepath.Join(root(), "README.md"): filepath.Join(root(), "README.zh.md")}
	for _, f := range files {
		if filepath.Base(f) != "README.md" { // the index has the pages that exist
			pairs[filepath.Join(root(), "docs", filepath.Base(f))] = f
		}
	}
	if len(pairs) < 4 {
		t.Errorf("%d pages: the search is broken", len(pairs))
	}
	for english, chinese := range pairs {
		a, b := depths(read(t, english)), depths(read(t, chinese))
		if a != b {
			t.Errorf("%s has headings %s, %s has %s", english, a, chinese, b)
		}
	}
}

// depths are the headings of a page by their depth, as "1 2 3 3 2".
func depths(text string) string {
	var out []string
	for _, h := range heading.FindAllString(fence.ReplaceAllString(text, ""), -1) {
		out = append(out, string(rune('0'+len(h)-len(strings.TrimLeft(h, "#")))))
	}
	return strings.Join(out, " ")
}
