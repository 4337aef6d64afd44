// The error that is thrown if a store cannot be opened. Its message is one sentence for the operator.

export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}
