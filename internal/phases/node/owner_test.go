package node

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOwnerOf(t *testing.T) {
	of := func(id string, fence uint64, token string) Owner { return Owner{ID: id, Fence: fence, Token: token} }
	for name, tc := range map[string]struct {
		files, node Owner
		want        Ownership
	}{
		"neither has one":                   {Owner{}, Owner{}, Owns},
		"the node is of an older version":   {of("a", 3, "x"), Owner{}, Owns},
		"the same run":                      {of("a", 3, "x"), of("a", 3, "x"), Owns},
		"the node was away":                 {of("a", 3, "x"), of("a", 2, "w"), Owns},
		"raised, and then the run failed":   {of("a", 4, "y"), of("a", 3, "x"), Owns},
		"a newer run of another copy":       {of("a", 3, "x"), of("a", 4, "y"), Stale},
		"two copies raised it to the same":  {of("a", 4, "x"), of("a", 4, "y"), Stale},
		"files of before there were owners": {Owner{}, of("a", 1, "x"), Stale},
		"another owner":                     {of("a", 3, "x"), of("b", 1, "y"), Other},
		"a newer format":                    {of("a", 3, "x"), Owner{Format: OwnerFormat + 1}, Newer},
	} {
		if got := tc.files.Of(tc.node); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// What a node says is not trusted: a damaged owner is none, and a number that cannot be raised is damaged.
func TestParseOwner(t *testing.T) {
	good, err := json.Marshal(Owner{ID: "a\x1b[2J", Fence: 7, Token: "x", By: strings.Repeat("b", 3)})
	if err != nil {
		t.Fatal(err)
	}
	if o := ParseOwner(good); o.Fence != 7 || strings.Contains(o.ID, "\x1b") {
		t.Errorf("%+v", o)
	}
	for _, text := range []string{`{"format":2,"id":"a","fence":3}`, `{"format":2,"id":[`, ` { "format" : 2}`} {
		if o := ParseOwner([]byte(text)); o != (Owner{Format: 2}) || !o.Newer() {
			t.Errorf("%s: %+v", text, o)
		}
	}
	for _, text := range []string{`{"format":"2"}`, `{"format":1e99}`, "", "{", "null", "[]", `{"id":"a"}`, `{"fence":3}`, `{"id":"a","fence":-1}`,
		`{"id":"a","fence":18446744073709551615}`, string(good[:20])} {
		if o := ParseOwner([]byte(text)); o != (Owner{}) {
			t.Errorf("%s: %+v", text, o)
		}
	}
}
