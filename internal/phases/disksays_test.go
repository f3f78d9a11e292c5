package phases

import "testing"

// On a full disk a package manager cannot choose either: that is no reason to build another bundle.
func TestAFullDiskIsNoChoiceOfPackages(t *testing.T) {
	for cause, want := range map[string]bool{
		"E: Write error - write (28: No space left on device)\nE: IO Error saving source cache\nE: The package lists or status " +
			"file could not be parsed or opened.": true,
		"E: Unable to mkstemp /tmp/fileutl.message.x - GetTempFile (30: Read-only file system)": true,
		"The following packages have unmet dependencies:\n containerd : Depends: runc":          false,
	} {
		if diskSays(cause) != want {
			t.Errorf("%q: %v", cause, !want)
		}
	}
}
