import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconProgress,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './state-mark.module.css';

const icons = {
  good: IconCircleCheck,
  bad: IconCircleX,
  warn: IconAlertTriangle,
  running: IconProgress,
  waiting: IconClock,
  quiet: IconCircleDashed,
} as const;

export type Tone = keyof typeof icons;

/** The state of something, as a sign and a word. */
export function StateMark({ tone, children }: { tone: Tone; children: ReactNode }) {
  const Icon = icons[tone];
  return (
    <span className={classes.mark} data-tone={tone}>
      <Icon size={16} stroke={1.8} aria-hidden="true" />
      {children}
    </span>
  );
}
