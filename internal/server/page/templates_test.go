package page

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// Without the script, a form sends nothing, or to the route that takes it: no secret is in an address. And no attribute
// is taken for a script, whose quotes differ.
func TestForms(t *testing.T) {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	form, scripts := regexp.MustCompile(`<form[^>]*>`), regexp.MustCompile(`\s(data-)?on[a-z]*=`)
	wizards := regexp.MustCompile(`\A<form method="post" action="(/new|/clusters/\{\{path \.Name\}\}/(nodes|upgrade|` +
		`backups/\{\{path \.Backup\}\}/restore))" class="wizard" `)
	n := 0
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range form.FindAllString(string(text), -1) {
			n++
			safe := strings.HasPrefix(f, `<form method="post" action="/unscripted" `) ||
				strings.HasPrefix(f, `<form method="post" action="/login" data-login `) || wizards.MatchString(f) ||
				f == `<form method="dialog">` ||
				f == `<form class="row filters" method="get">` && name == "templates/audit.html"
			if !safe {
				t.Errorf("%s: %s", name, f)
			}
		}
		for line := range strings.Lines(string(text)) { // other labels draw it as large as a text field
			if strings.Contains(line, `type="checkbox"`) && !strings.Contains(line, `<label class="check">`) {
				t.Errorf("%s: %s", name, line)
			}
		}
		if bad := scripts.FindString(string(text)); bad != "" {
			t.Errorf("%s has %s", name, bad)
		}
	}
	if n < 12 {
		t.Fatalf("%d forms: the search is broken", n)
	}
}
