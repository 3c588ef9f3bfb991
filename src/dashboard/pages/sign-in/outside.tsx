import { Title } from '@mantine/core';
import { Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import classes from './outside.module.css';

/** Around the pages for people who are not signed in. */
export function Outside() {
  return (
    <main className={classes.outside}>
      <a className={classes.brand} href="/">
        <img src="/dashboard/icon.svg" alt="" width="28" height="28" />
        Portico
      </a>
      <Outlet />
    </main>
  );
}

/** One form with its heading. */
export function Card({ title, lead, children }: { title: string; lead?: string; children: ReactNode }) {
  return (
    <section className={classes.card}>
      <Title order={1} size="h1">
        {title}
      </Title>
      {lead && <p className={classes.lead}>{lead}</p>}
      {children}
    </section>
  );
}
