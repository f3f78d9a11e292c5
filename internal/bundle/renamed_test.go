package bundle

import "testing"

func TestWhatIsAddedToNames(t *testing.T) {
	for name, want := range map[string]string{
		"b.tar.gz": "b.tar.gz", "b.tar.gz.001": "b.tar.gz.001", "b (1).txt": "b (1).txt", "b.txt": "b.txt",
		"b (1).tar.gz":                  "b.tar.gz",
		"b.tar (1).gz":                  "b.tar.gz",
		"b.tar.gz (1)":                  "b.tar.gz",
		"b(2).tar.gz":                   "b.tar.gz",
		"b（2）.tar.gz":                   "b.tar.gz",
		"b - Copy.tar.gz":               "b.tar.gz",
		"b - Copy (2).tar.gz":           "b.tar.gz",
		"b.tar.gz.txt":                  "b.tar.gz",
		"b.tar.gz.download":             "b.tar.gz",
		"b.tar.gz (1).001":              "b.tar.gz.001",
		"b (1).tar.gz.001":              "b.tar.gz.001",
		"b.tar.gz.001 (1)":              "b.tar.gz.001",
		"b.tar.gz.001.txt":              "b.tar.gz.001",
		"b.tar.gz.001.download":         "b.tar.gz.001",
		"b.tar.gz.1000.1":               "b.tar.gz.1000",
		"b.tar.gz.001.gz":               "b.tar.gz.001", // the first volume begins as a gzip file does
		"b.tar.gz.gz":                   "b.tar.gz.gz",
		"b.tar.gz - Copy.001":           "b.tar.gz.001",
		"b.tar.gz - 副本 (2).001":         "b.tar.gz.001",
		"b.tar.gz copy 2.001":           "b.tar.gz.001",
		"b.tar.gz (1).001 (2).download": "b.tar.gz.001",
		"b (1) (2) (3) (4).tar.gz":      "b (1).tar.gz", // three times: the rest stays
	} {
		got, added := cleanName(name)
		if got != want || (added == "") != (got == name) {
			t.Errorf("%s is read as %q + %q, want %q", name, got, added, want)
		}
	}
}
