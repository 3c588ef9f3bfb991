import { Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import classes from './section.module.css';

interface SectionProps {
  title: string;
  lead?: ReactNode;
  /** What takes something away for good. */
  tone?: 'danger';
  children: ReactNode;
}

/** A part of a page of settings, with its heading beside it where there is room. */
export function Section({ title, lead, tone, children }: SectionProps) {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id} data-tone={tone}>
      <div>
        <Title order={2} id={id}>
          {title}
        </Title>
        {lead && <p className={classes.lead}>{lead}</p>}
      </div>
      <div className={classes.body}>{children}</div>
    </section>
  );
}
