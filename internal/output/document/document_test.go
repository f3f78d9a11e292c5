package document

import (
	"slices"
	"strings"
	"testing"
)

// What is printed has its columns aligned, whatever the texts are wide, ends no line with blanks, and shows no control
// characters.
func TestText(t *testing.T) {
	d := Document{
		{
			Head: []string{"NODE", "STATUS", ""},
			Rows: [][]Cell{
				{{Text: "节点-1", Emphasis: Name}, {Text: "Ready", Emphasis: Good}, {Text: "x"}},
				{{Text: "b", Emphasis: Name}, {Text: "Not\x1b[31mReady", Emphasis: Bad}, {}},
			},
			Lines: []Cell{{}},
		},
		{
			Depth: 1, Title: "b", Rows: [][]Cell{{{Text: "units"}, {Text: "etcd, kubelet"}}},
			Lines: []Cell{{Text: "gone"}},
		},
		Text("all is well"),
	}
	want := `NODE    STATUS    
节点-1  Ready         x
b       Not[31mReady

  b
    units  etcd, kubelet
    gone
all is well
`
	want = strings.Replace(want, "STATUS    \n", "STATUS\n", 1)
	if got := d.Text(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	lines := d.Lines()
	if l := lines[1]; l.Cells[0].Emphasis != Name || l.Cells[2] != (Cell{"Ready", Good}) || l.Under != 22 {
		t.Errorf("%+v", l)
	}
	if l := lines[5]; l.Under != 11 {
		t.Errorf("%+v", l)
	}
	if got := Columns([][]string{{"a", "b"}, {"long", "c"}}); !slices.Equal(got, []string{"a     b", "long  c"}) {
		t.Errorf("%q", got)
	}
}
