// An icon of lucide, as the build draws it (vite.config.ts): lines of the colour of the text around it, in a square.

import { createElement, type FunctionComponent, type SVGProps } from 'react'

/** The data of an icon in the package: its elements with their attributes. */
interface IconData {
  readonly node: readonly (readonly [name: string, attributes: Readonly<Record<string, string>>])[]
}

interface IconProps extends SVGProps<SVGSVGElement> {
  readonly size?: number
}

const DEFAULT_SIZE = 24

/** Returns the component of an icon. Screen readers leave it out: the control around it has the name. */
export function icon({ node }: IconData): FunctionComponent<IconProps> {
  return ({ size = DEFAULT_SIZE, ...rest }) =>
    createElement(
      'svg',
      {
        ...{ width: size, height: size, viewBox: '0 0 24 24', 'aria-hidden': true },
        ...{ fill: 'none', stroke: 'currentColor', strokeWidth: 2, strokeLinecap: 'round', strokeLinejoin: 'round' },
        ...rest,
      },
      ...node.map(([name, attributes]) => createElement(name, attributes)),
    )
}
