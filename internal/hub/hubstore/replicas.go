package hubstore

import (
	"context"
	"time"
)

// raise has as many servers keep the bucket as this store was told, if it was made
// with fewer: by a hub or a command that was told less. It never takes any away.
// One that cannot be changed is used as it is, and [Store.Engine] tells.
func (s *Store) raise(ctx context.Context) {
	for begin := time.Now(); ; pause(ctx, startPause) {
		stream, err := s.js.Stream(ctx, s.stream())
		if err == nil {
			config := stream.CachedInfo().Config
			if config.Replicas >= s.replicas {
				return
			}
			config.Replicas = s.replicas
			_, err = s.js.UpdateStream(ctx, config)
		}
		if err == nil || ctx.Err() != nil || !soon(err) && !fewServers(err) || time.Since(begin) > raiseTime {
			return
		}
	}
}

// raiseTime is how long the servers of a cluster may take to find each other, so
// that there are enough of them.
const raiseTime = 10 * time.Second

// fewServers reports whether a cluster has too few servers now.
func fewServers(err error) bool { return isCode(err, 10005) }
