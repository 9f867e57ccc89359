mod dump;
mod send;
mod stat;
