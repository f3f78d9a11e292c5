package present

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// What a run does has words of its own wherever a run is shown: as the title of its board, in lists, line by line.
func TestEveryVerbHasItsWords(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for _, v := range request.Verbs() {
			for _, where := range []string{"ui.verb.", "menu.verb.", "report.verb."} {
				if !p.Has(where + string(v)) {
					t.Errorf("%s%s has no sentence in %s", where, v, lang)
				}
			}
		}
	}
}
