package config

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// TestTheTemplateHasTheDriver: who reads the template learns that there are two.
func TestTheTemplateHasTheDriver(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		text := string(Template(TemplateOptions{}, p))
		if !strings.Contains(text, "#   driver: binary") || !strings.Contains(text, "# "+p.T("template.eggo.driver")) {
			t.Errorf("%s:\n%s", lang, text)
		}
	}
}
