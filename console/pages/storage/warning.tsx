// A paragraph that says what does not go well.

import type { ReactNode } from 'react'

export function Warning({ children }: { readonly children: ReactNode }) {
  return <p className="mb-3 rounded-card bg-warn-soft p-3 text-warn">{children}</p>
}
