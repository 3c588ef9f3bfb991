import type { ReactNode } from 'react';
import classes from './facts.module.css';

/** What is known of something: names (`dt`) beside their values (`dd`), on a telephone above them. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className={classes.facts}>{children}</dl>;
}
