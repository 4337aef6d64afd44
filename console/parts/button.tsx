// Buttons. A button of an operation (Action) renders nothing for a user who may not run it.

import type { LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes, ReactNode } from 'react'
import type { Operation } from '../api/client.ts'
import { useMay } from '../shell/session.tsx'

export type ButtonKind = 'primary' | 'plain' | 'danger' | 'quiet'

const KINDS: Readonly<Record<ButtonKind, string>> = {
  primary: 'bg-accent text-on-accent border-accent',
  plain: 'bg-surface text-text border-edge hover:bg-raised',
  danger: 'bg-danger text-on-danger border-danger',
  quiet: 'border-transparent text-text hover:bg-raised',
}

/** The look of a button, for links that look like one. */
export function buttonClass(kind: ButtonKind = 'plain', isSmall = false): string {
  const size = isSmall ? 'min-h-7 px-2 text-dense' : 'min-h-9 px-3 max-sm:min-h-11 max-sm:min-w-11 max-sm:px-2'
  return `inline-flex items-center justify-center gap-2 rounded-control border font-medium whitespace-nowrap no-underline disabled:opacity-60 ${size} ${KINDS[kind]}`
}

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className' | 'title'> {
  readonly kind?: ButtonKind
  readonly icon?: LucideIcon
  readonly isSmall?: boolean
  /** True while the work of the button runs: it cannot be pressed again. */
  readonly isBusy?: boolean
  readonly title?: string | undefined
  readonly children?: ReactNode
}

export function Button({ kind, icon: Icon, isSmall, isBusy = false, disabled, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
      className={buttonClass(kind, isSmall)}
    >
      {Icon !== undefined && <Icon size={16} aria-hidden />}
      {children}
    </button>
  )
}

export interface ActionProps extends ButtonProps {
  readonly operation: Operation
}

/** A button that runs, or begins, an operation. It does not exist for a user who may not run it. */
export function Action({ operation, ...button }: ActionProps) {
  if (!useMay(operation)) return null
  return <Button data-operation={operation} {...button} />
}

/** Shows its children to those who may run the operation: a field that changes something, a menu entry. */
export function Allowed({ operation, children }: { readonly operation: Operation; readonly children: ReactNode }) {
  return useMay(operation) ? <div data-operation={operation}>{children}</div> : null
}
