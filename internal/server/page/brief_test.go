package page

import "testing"

// TestHintsAreBrief: of a key that the wizard does not have, the form says what the documentation says first.
func TestHintsAreBrief(t *testing.T) {
	for text, want := range map[string]string{
		"how CoreDNS runs. `pod`: as pods": "How CoreDNS runs",
		"address of the cluster DNS":       "Address of the cluster DNS",
		"网络插件，其清单须在离线包中。`flannel` 已测试":     "网络插件，其清单须在离线包中",
	} {
		if got := brief(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
