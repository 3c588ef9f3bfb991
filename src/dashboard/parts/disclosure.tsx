import type { ReactNode } from 'react';
import classes from './disclosure.module.css';

interface DisclosureProps {
  label: string;
  /** At first. */
  isOpen?: boolean;
  children: ReactNode;
}

/** What few people need, one click away. */
export function Disclosure({ label, isOpen = false, children }: DisclosureProps) {
  return (
    <details className={classes.disclosure} open={isOpen}>
      <summary>{label}</summary>
      <div className={classes.content}>{children}</div>
    </details>
  );
}
