// An error that ends the opening of a store: one sentence, ready for the operator.

export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}
