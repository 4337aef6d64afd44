// A part of the page that is loaded when it is first needed. If it cannot be loaded, because the broker is away or was
// replaced, the page stays and a message says so.

import { type ComponentType, createElement, type FunctionComponent, lazy, type ReactNode, Suspense } from 'react'
import { toast } from '../shell/toasts.tsx'

/** Returns a component that loads itself. While it loads it shows `meanwhile`, by default nothing. */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  meanwhile: ReactNode = null,
): FunctionComponent<Props> {
  const attempt = () =>
    lazy(async (): Promise<{ default: ComponentType<Props> }> => {
      try {
        return { default: await load() }
      } catch {
        toast('A part of the console could not be loaded. Try again when the broker answers.')
        // The next use tries again.
        Part = attempt()
        return { default: () => null }
      }
    })
  let Part = attempt()
  return props => createElement(Suspense, { fallback: meanwhile }, createElement(Part as ComponentType<Props>, props))
}
