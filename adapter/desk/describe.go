package desk

import "context"

type describeKey struct{}

// Describing returns a context for asking something. Whoever puts that to a desk has
// it described by a function, which reports false if it is for nobody elsewhere: they
// would not see all of it, or the answer must not be kept.
func Describing(ctx context.Context, describe func(*Item) (elsewhere bool)) context.Context {
	return context.WithValue(ctx, describeKey{}, describe)
}

// Describe has an item described as the context says, see [Describing].
func (it *Item) Describe(ctx context.Context) (elsewhere bool) {
	describe, ok := ctx.Value(describeKey{}).(func(*Item) bool)
	return !ok || describe(it)
}
