mod dump;
mod listen;
mod listener;
mod send;
mod stat;
