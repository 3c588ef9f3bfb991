import type { ReactNode } from 'react';
import classes from './mark.module.css';

interface MarkProps {
  /** Beside the words, never instead of them. */
  tone?: 'plain' | 'accent' | 'good' | 'warn' | 'bad';
  title?: string | undefined;
  children: ReactNode;
}

/** One or two words beside a name: a role, a state. */
export function Mark({ tone = 'plain', title, children }: MarkProps) {
  return (
    <span className={classes.mark} data-tone={tone} title={title}>
      {children}
    </span>
  );
}
