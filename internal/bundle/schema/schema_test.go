package schema

import "testing"

// Editors show a description as it is written; the documents have the same sentences with links and code.
func TestDescriptionsArePlainText(t *testing.T) {
	for text, want := range map[string]string{
		"refused ([decision 16](decisions/0016-x.md)).": "refused (decision 16).",
		"`host:port`, or `*=https://…` for all":         "host:port, or *=https://… for all",
		"`[]` is none":                             "[] is none",
		"`[a](b)` as it stands":                    "[a](b) as it stands",
		"`REGISTRY=URL` [one](a) and [two](b_(c))": "REGISTRY=URL one and two",
		"unpaired ` and [x] (y)":                   "unpaired ` and [x] (y)",
		"":                                         "",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
