package stand

import "context"

// fill takes every byte that is left on a node's disk, those that are kept for root too.
const fill = `free=$(($(stat -f -c '%f * %S' /)))
until fallocate -l $free /var/log/full 2>/dev/null; do free=$((free - 1048576)); done
cat /dev/zero >/var/log/full-too 2>/dev/null
df -h /`

// Free is the command that gives back what FillDisk took.
const Free = "rm /var/log/full /var/log/full-too"

// FillDisk fills a node's disk and says how it is then.
func (s *Stand) FillDisk(ctx context.Context, node string) (string, error) {
	return s.Lab.Run(ctx, node, fill)
}

// FreeDisk frees it again.
func (s *Stand) FreeDisk(ctx context.Context, node string) error {
	_, err := s.Lab.Run(ctx, node, Free)
	return err
}
