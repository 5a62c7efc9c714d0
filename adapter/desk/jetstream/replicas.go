package jetstream

import "context"

// raise has as many servers keep the bucket as this store was told, if it was made
// with fewer: by a hub or a command that was told less. It never takes any away.
// One that cannot be changed is used as it is, and [Store.Engine] tells.
func (s *Store) raise(ctx context.Context) {
	stream, err := s.js.Stream(ctx, s.stream())
	if err != nil {
		return
	}
	config := stream.CachedInfo().Config
	if config.Replicas >= s.replicas {
		return
	}
	config.Replicas = s.replicas
	_, _ = s.js.UpdateStream(ctx, config)
}
