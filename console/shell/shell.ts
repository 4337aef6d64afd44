// The layers over the page: the palette, the help, the navigation of a phone. At most one is open.

import { createContext, use } from 'react'

export type Overlay = 'palette' | 'help' | 'navigation'

export interface Shell {
  readonly overlay: Overlay | null
  open(overlay: Overlay | null): void
}

export const ShellContext = createContext<Shell>({ overlay: null, open: () => {} })

export function useShell(): Shell {
  return use(ShellContext)
}
