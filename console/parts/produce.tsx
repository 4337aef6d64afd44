// The dialog that produces a record, loaded when it is first opened.

import { lazyPart } from './lazy-part.tsx'

export const Produce = lazyPart(async () => (await import('./produce-dialog.tsx')).ProduceDialog)
