package bundle

// Option changes how Verify, Stage and Extract read a bundle.
type Option func(*options)

type options struct {
	sums       func(m *Manifest, sums []byte) error
	name, arch string
	bases      []string
	free       func(dir string) (int64, error) // nil: what the disk says
	addon      func(m *Member, data []byte)
}

func gather(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// WithSums has check see the bytes of SHA256SUMS, which name manifest.json and with it the bundle's name and
// architecture, before any member is read or placed: the place to check a signature. Its error ends the reading and is
// returned as it is.
func WithSums(check func(sums []byte) error) Option {
	return WithVoucher(func(_ *Manifest, sums []byte) error { return check(sums) })
}

// WithVoucher is WithSums for who wants to know which bundle it is; the manifest is not proven yet.
func WithVoucher(check func(m *Manifest, sums []byte) error) Option {
	return func(o *options) { o.sums = check }
}

// WithExpected refuses a bundle of another name or architecture; "" accepts any. The faults are "bundle.wrong-name" and
// "bundle.wrong-arch".
func WithExpected(name, arch string) Option {
	return func(o *options) { o.name, o.arch = name, arch }
}

// WithBases names bundles among which Stage may look for the base of a difference that is not staged yet. They are read
// only then, and those that are no bundles are passed over.
func WithBases(paths ...string) Option {
	return func(o *options) { o.bases = append(o.bases, paths...) }
}

// WithAddons gives see each addon that the bundle carries, once its sum is right. Those larger than any that a build
// packs are not read.
func WithAddons(see func(m *Member, data []byte)) Option {
	return func(o *options) { o.addon = see }
}

// admit holds a manifest against what is expected, its sums against who vouches for them, and the places that it names
// against the list.
func (o options) admit(m *Manifest, sums []byte) error {
	if o.name != "" && m.Name != o.name {
		return fault("bundle.wrong-name", nil, "got", m.Name, "want", o.name)
	}
	if o.arch != "" {
		if err := CheckArch(m, o.arch); err != nil {
			return err
		}
	}
	if o.sums != nil {
		if err := o.sums(m, sums); err != nil {
			return err
		}
	}
	return m.placement()
}
